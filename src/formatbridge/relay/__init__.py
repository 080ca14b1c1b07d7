"""Two ways to a relay: the client, and the transport through which official SDKs speak to it.

The client: what a call is (profile, calls), how it goes (flow, incoming) and who does the work (client, line, http). The transport: what an
SDK's call is and what comes home of it (crossing, legs, homecoming), and the HTTP library's view of both (transport).
"""

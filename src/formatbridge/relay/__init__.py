"""The client: what a call is (profile, calls), how it goes (flow, incoming) and who does the work (http, client)."""

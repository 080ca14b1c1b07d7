"""The clients, and the transport that lets official SDKs use an endpoint of another format.

``clients`` has the two drivers of one ``flow``; ``transport`` has the transport. docs/architecture.md lists the modules.
"""

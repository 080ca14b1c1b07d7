"""The clients, and the transport that gives official SDKs a relay's endpoint of another format.

``clients`` has the two drivers of one ``flow``, ``transport`` the transport; docs/architecture.md lists the modules.
"""

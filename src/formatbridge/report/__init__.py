"""The loss report: the ledger in which encoders note losses, and the pointers of losses in the source."""

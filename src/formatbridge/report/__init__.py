"""The loss report: the ledger that encoders write, and where in the source each loss is found."""

"""What several formats share, one module for each subject."""

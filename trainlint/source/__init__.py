"""The observer that reads code and runs none of it: paths in, facts out."""

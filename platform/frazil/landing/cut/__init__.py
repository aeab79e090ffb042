"""Cuts: the tables of a pipeline as of one moment, each with a tag on the snapshot that holds just that."""

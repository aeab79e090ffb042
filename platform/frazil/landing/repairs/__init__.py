"""The ways on from bad records, and from rows that another engine removed."""

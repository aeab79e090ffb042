"""What a record's bytes mean, by the published types of the columns: docs/types.md.

Both sides of a comparison become the same plain values, here called canonical: moments and times of day are
microseconds, dates are days, decimals are their digits as an integer, structs and lists are tuples, maps are
tuples of pairs in order of the keys.
"""

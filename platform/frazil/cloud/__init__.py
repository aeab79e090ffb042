"""A deployment in the clouds: made, proved, rotated and removed by one small reconciler."""

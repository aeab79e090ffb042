"""What a bucket that keeps versions still holds of files that were deleted."""

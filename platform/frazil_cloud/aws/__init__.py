"""What a deployment has at AWS: bucket, roles, secrets, parameters, logs, and the database in Glue."""

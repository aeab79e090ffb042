"""What any Iceberg table needs: catalog, commit, branches, ledger, manifests, rewrite, layout, rollback."""

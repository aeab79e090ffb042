-- INFORMATION_SCHEMA.TABLES of a database, behind what fakesnow selects.
CREATE OR REPLACE VIEW ${catalog}._fs_information_schema._fs_tables AS
SELECT * FROM (${tables}) UNION ALL BY NAME
SELECT
    database_name AS "TABLE_CATALOG",
    schema_name AS "TABLE_SCHEMA",
    view_name AS "TABLE_NAME",
    'SYSADMIN' AS "TABLE_OWNER",
    CASE WHEN views.comment = 'ICEBERG TABLE' THEN 'BASE TABLE' ELSE 'VIEW' END AS "TABLE_TYPE",
    said.comment AS "COMMENT",
    CASE WHEN views.comment = 'ICEBERG TABLE' THEN 'YES' ELSE 'NO' END AS "IS_ICEBERG"
FROM duckdb_views() AS views
LEFT JOIN _fs_global._fs_information_schema._fs_tables_ext AS said ON
    database_name = ext_table_catalog AND schema_name = ext_table_schema AND view_name = ext_table_name
WHERE database_name = '${catalog}' AND schema_name != '_fs_information_schema'

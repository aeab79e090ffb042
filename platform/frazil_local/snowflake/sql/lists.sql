-- What SHOW lists: Iceberg tables are tables, though duckdb has views. Ours stand in front of fakesnow's.

CREATE VIEW ${lists}._iceberg AS
SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE comment = 'ICEBERG TABLE';

ALTER VIEW ${lists}._fs_show_views RENAME TO _views;
CREATE VIEW ${lists}._fs_show_views AS
SELECT views.* REPLACE (coalesce(made.comment, views.text) AS text)
FROM ${lists}._views AS views
LEFT JOIN duckdb_views() AS made ON
    views.database_name = made.database_name AND views.schema_name = made.schema_name AND name = view_name
WHERE NOT (views.database_name, views.schema_name, name) IN (SELECT * FROM ${lists}._iceberg);

ALTER VIEW ${lists}._fs_show_objects RENAME TO _objects;
CREATE VIEW ${lists}._fs_show_objects AS
SELECT * REPLACE (
    CASE WHEN (database_name, schema_name, name) IN (SELECT * FROM ${lists}._iceberg)
        THEN 'TABLE' ELSE kind END AS kind,
    CASE WHEN (database_name, schema_name, name) IN (SELECT * FROM ${lists}._iceberg)
        THEN 'Y' ELSE 'N' END AS is_iceberg
)
FROM ${lists}._objects;

ALTER VIEW ${lists}._fs_show_tables RENAME TO _tables;
CREATE VIEW ${lists}._fs_show_tables AS
SELECT * FROM ${lists}._tables UNION ALL BY NAME
SELECT * FROM ${lists}._fs_show_objects WHERE is_iceberg = 'Y';

-- INFORMATION_SCHEMA.VIEWS of a database, which are no Iceberg tables.
CREATE OR REPLACE VIEW ${catalog}._fs_information_schema._fs_views AS
${views} AND comment IS DISTINCT FROM 'ICEBERG TABLE'

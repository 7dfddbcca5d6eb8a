-- What of a source is mirrored (filters, selection, folders, limit), and what was removed and can come back.

-- The revision that a removed document's item had. The item that comes back with it is not read again.
alter table documents add column deleted_rev text;
create index documents_deleted_by_custom_id on documents (container_tag, custom_id)
  where deleted_at is not null and custom_id is not null;

-- Says for which scope the items were judged; '' is everything, 'dirty' that judging was not finished.
alter table partitions add column scope_key text not null default '';
-- Since when the source no longer shows the partition, and when its documents go; null: they stay.
alter table partitions add column missing_since timestamptz;
alter table partitions add column remove_at timestamptz;

-- When the item last changed at its source, where the source tells.
alter table sync_items add column source_updated_at timestamptz;
-- Items that are no longer mirrored and still have a document; none most of the time.
create index sync_items_to_remove on sync_items (connection_id, partition_id)
  where state = 'skipped' and document_id is not null;
-- Folders, from a folder to those in it; compared with ids, so of their collation.
alter table sync_items alter column parent type text collate "C";
create index sync_items_containers on sync_items (connection_id, partition_id, parent) where kind = 'container';

-- Items that nobody shows any more, though the source does not say that they were deleted: since when.
alter table sync_items add column missing_since timestamptz;
-- How many documents went because they were missing, by the hour in which they went.
alter table partitions add column recent_removals jsonb not null default '[]'::jsonb;
-- What sweeps hold at the moment was known by its epoch alone.
update sync_items i set state = 'gone', missing_since = p.updated_at, lease_token = null, next_try = null
from partitions p
where p.connection_id = i.connection_id and p.id = i.partition_id and p.held_sweep is not null
  and i.seen_epoch < coalesce((p.held_sweep ->> 'epoch')::integer, p.epoch)
  and i.document_id is not null and i.kind = 'document' and i.state <> 'gone';

-- Runs that can be cancelled, say what was odd, and may only be tried out; partitions that wait on
-- their own; content that came with a listing.

alter table sync_runs
  -- Somebody ended it; its status is `failed` from then on.
  add column cancelled_at timestamptz,
  -- At most 50 of {"partitionId", "code", "message"}: what went on but needs a look.
  add column warnings jsonb not null default '[]',
  -- Measured over the last minute, for the time that is left.
  add column items_per_second double precision,
  -- Of a dry run: {"added": {"count", "ids"}, "updated": …, "deleted": …, "incomplete"}.
  add column report jsonb;

alter table partitions
  -- Why it is parked or paused; what `state_reason` says in words.
  add column problem text,
  -- Runs in a row that ended with a problem here.
  add column failures integer not null default 0,
  -- The run that listed it last.
  add column listed_run text,
  -- The listing that is under way has shown everything; only its end is left to do.
  add column listing_shown boolean not null default false;

-- The request that the run under way serves; it is served again when its worker dies.
alter table connections add column running_sync jsonb;

-- Content that a listing brought along, stored before the listing's page, kept until the item is done.
create table sync_item_documents (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  ext_id text collate "C" not null,
  -- The revision that it is the content of.
  rev text not null,
  -- A fetched document as JSON, bytes in base64.
  document text not null,
  primary key (connection_id, partition_id, ext_id),
  foreign key (connection_id, partition_id) references partitions on delete cascade
);

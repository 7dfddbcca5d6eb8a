-- The whole schema in the common subset of PostgreSQL 15+ and PGlite.
-- Ids are 22 base58 characters that sort by time; "C" collation makes that a byte comparison.
-- Times come from the caller's clock, never from now(), so that tests can move it.

create extension if not exists vector;

create table settings (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null
);

-- One row per role that only one process may hold at a time (scheduler, vector index, re-embedding).
create table leases (
  name text primary key,
  holder text not null,
  lease_until timestamptz not null
);

create table api_keys (
  id text collate "C" primary key,
  name text not null,
  kind text not null check (kind in ('full', 'scoped')),
  permission text not null check (permission in ('read', 'write')),
  -- SHA-256 of the key as hex; the key itself is never stored.
  hash text not null unique,
  prefix text not null,
  -- For scoped keys: [{"containerTag": …, "permission": "read" | "write"}].
  grants jsonb not null default '[]',
  enabled boolean not null default true,
  rate_limit_max integer,
  rate_limit_window_ms integer,
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz
);

create table container_tags (
  tag text collate "C" primary key,
  id text collate "C" not null unique,
  name text,
  description text,
  entity_context text,
  memory_filesystem_paths text[],
  profile_buckets jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table connections (
  id text collate "C" primary key,
  provider text not null,
  container_tag text collate "C" not null,
  status text not null check (status in ('active', 'paused', 'needs_reauth', 'needs_configuration', 'deleting')),
  status_reason text,
  account_id text,
  email text,
  -- Non-secret configuration of the connector, validated against its spec.
  config jsonb not null default '{}',
  -- The caller's metadata, put on every synced document.
  metadata jsonb not null default '{}',
  selection jsonb not null default '[]',
  filters jsonb not null default '{}',
  document_limit integer,
  on_source_delete text not null default 'delete' check (on_source_delete in ('delete', 'keep')),
  schedule text,
  sync_every_ms bigint,
  next_sync_at timestamptz,
  -- A trigger that arrived and has not been run yet: {"mode", "trigger", "hints"}.
  requested_sync jsonb,
  failures integer not null default 0,
  last_synced_at timestamptz,
  expires_at timestamptz,
  lease_token text,
  lease_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index connections_due on connections (next_sync_at) where status = 'active';
create index connections_by_container on connections (container_tag);

create table partitions (
  connection_id text collate "C" not null references connections on delete cascade,
  id text collate "C" not null,
  title text,
  resource text,
  state text not null default 'new'
    check (state in ('new', 'backfill', 'delta', 'relist', 'parked', 'paused', 'removing')),
  state_reason text,
  -- Each complete listing has its own epoch; an item with an older seen_epoch was not in it.
  epoch integer not null default 0,
  -- Position taken before the listing that is under way; becomes `position` when the listing ends.
  parked_head jsonb,
  -- Where the listing goes on, and whether it may be swept.
  listing_cursor jsonb,
  listing_started_at timestamptz,
  listing_incomplete text,
  -- Where the next incremental sync starts.
  position jsonb,
  parked_until timestamptz,
  last_listed_at timestamptz,
  -- A sweep that the brake holds: {"epoch", "count", "of", "heldAt"}.
  held_sweep jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (connection_id, id)
);

-- The ledger: one narrow row per item, rewritten often, so pages keep room for in-place updates.
create table sync_items (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  ext_id text collate "C" not null,
  custom_id text collate "C" not null,
  kind text not null default 'document',
  -- rev = what memory holds; want_rev = what the source shows.
  rev text,
  want_rev text not null,
  -- held = waits for the end of the listing, because it may be another item under a new id.
  -- gone = the source said so; removed when the changes are read to their end, unless it was renamed.
  -- suppressed = the user deleted its document; not fetched again until the source changes it.
  state text not null
    check (state in ('pending', 'held', 'fetching', 'done', 'failed', 'skipped', 'suppressed', 'gone')),
  attempts integer not null default 0,
  -- When it may be claimed: at once, after a pause, or (while a worker holds lease_token) when the lease ends.
  next_try timestamptz,
  error_class text,
  error text,
  document_id text collate "C",
  text_hash text,
  fingerprint text collate "C",
  seen_epoch integer not null,
  parent text,
  access_hash text,
  -- What fetch needs: {"title","mimeType","size","updatedAt","url","path","metadata","locator"}.
  ref jsonb not null default '{}',
  lease_token text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (connection_id, partition_id, ext_id),
  foreign key (connection_id, partition_id) references partitions on delete cascade
) with (fillfactor = 80);
-- What is left to do; small, because finished items are not in it.
create index sync_items_work on sync_items (connection_id, partition_id, next_try)
  where state in ('pending', 'held', 'fetching', 'failed', 'gone');
create index sync_items_by_fingerprint on sync_items (connection_id, partition_id, fingerprint)
  where fingerprint is not null;
create index sync_items_by_document on sync_items (document_id) where document_id is not null;

create table sync_runs (
  id text collate "C" primary key,
  connection_id text collate "C" not null references connections on delete cascade,
  status text not null check (status in ('running', 'completed', 'failed')),
  mode text not null check (mode in ('full', 'incremental')),
  trigger_type text not null check (trigger_type in ('event', 'cron', 'manual')),
  dry_run boolean not null default false,
  items_seen integer not null default 0,
  items_processed integer not null default 0,
  items_added integer not null default 0,
  items_updated integer not null default 0,
  items_deleted integer not null default 0,
  items_skipped integer not null default 0,
  items_failed integer not null default 0,
  items_total integer,
  error text,
  error_code text,
  failures jsonb not null default '[]',
  started_at timestamptz not null,
  heartbeat_at timestamptz not null,
  completed_at timestamptz
);
create index sync_runs_by_connection on sync_runs (connection_id, id desc);

-- Narrow on purpose: its state is rewritten while it is processed; the text stands in document_contents.
create table documents (
  id text collate "C" primary key,
  container_tag text collate "C" not null,
  custom_id text collate "C",
  connection_id text collate "C",
  -- Counts accepted versions; a worker that finishes an older one throws its result away.
  revision integer not null default 1,
  status text not null
    check (status in ('unknown', 'queued', 'extracting', 'chunking', 'embedding', 'indexing', 'done', 'failed')),
  dreaming_status text not null default 'done' check (dreaming_status in ('dreaming', 'done')),
  dreaming text not null default 'dynamic' check (dreaming in ('instant', 'dynamic')),
  task_type text not null default 'memory' check (task_type in ('memory', 'superrag')),
  type text not null,
  source text,
  -- Shown: the given title, else the one found in the content.
  title text,
  given_title text,
  summary text,
  url text,
  og_image text,
  filepath text,
  metadata jsonb not null default '{}',
  document_date timestamptz,
  filter_by_metadata jsonb,
  -- SHA-256 (base64) of what was sent, and of the extracted text.
  content_hash text not null,
  text_hash text,
  attempts integer not null default 0,
  redrives integer not null default 0,
  -- When it may be claimed: at once, after a pause, or (while a worker holds lease_token) when the lease ends.
  next_attempt_at timestamptz,
  lease_token text,
  error_code text,
  error_message text,
  -- Hidden from everything but undo.
  deleted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
) with (fillfactor = 85);
create unique index documents_by_custom_id on documents (custom_id, container_tag)
  where custom_id is not null and deleted_at is null;
-- What is left to do, in order; a claim walks it and never the finished documents.
create index documents_work on documents (next_attempt_at, id)
  where status not in ('done', 'failed', 'unknown') and deleted_at is null;
create index documents_failed on documents (next_attempt_at) where status = 'failed' and deleted_at is null;
create index documents_by_container on documents (container_tag, created_at, id);
create index documents_by_connection on documents (connection_id) where connection_id is not null;
-- Few or none; a search reads them to leave out their chunks.
create index documents_deleted on documents (id) where deleted_at is not null;

create table document_contents (
  document_id text collate "C" primary key references documents on delete cascade,
  kind text not null check (kind in ('text', 'markdown', 'html', 'url', 'file', 'conversation')),
  -- What was sent; null for files.
  raw text,
  -- The canonical text; null while it is not extracted, or when it equals raw.
  content text,
  bytes bytea,
  mime_type text,
  file_name text,
  -- Uploads keep their bytes; bytes of synced items are dropped once their text is taken.
  keep_bytes boolean not null default false
);

create table chunks (
  id text collate "C" primary key,
  document_id text collate "C" not null references documents on delete cascade,
  container_tag text collate "C" not null,
  position integer not null,
  content text not null,
  -- The headings above it, embedded and indexed with it.
  context text,
  type text not null default 'text',
  metadata jsonb not null default '{}',
  token_count integer not null,
  -- SHA-256 (base64) of context and content; an equal chunk keeps its vector.
  content_hash text not null,
  -- BM25: distinct terms, how often each stands in the chunk, and their sum.
  terms text[] collate "C" not null,
  term_counts smallint[] not null,
  term_total integer not null,
  embedding vector,
  embedding_model text,
  created_at timestamptz not null,
  -- Checked at the end of the transaction, so that chunks of an edited document can change places.
  unique (document_id, position) deferrable initially deferred
);
create index chunks_by_container on chunks (container_tag);
create index chunks_by_term on chunks using gin (terms);
-- A search compares the vectors and terms of thousands of chunks. In the row, uncompressed (two rows
-- to a page), that is 4 times as fast as beside the table, where PostgreSQL would put them.
alter table chunks set (toast_tuple_target = 4080);
alter table chunks alter column embedding set storage main;
alter table chunks alter column terms set storage main;

create table memories (
  id text collate "C" primary key,
  container_tag text collate "C" not null,
  memory text not null,
  metadata jsonb,
  temporal_context jsonb,
  kind text,
  subject text,
  slot text,
  buckets text[] not null default '{}',
  is_static boolean not null default false,
  is_inference boolean not null default false,
  is_latest boolean not null default true,
  is_forgotten boolean not null default false,
  review_status text,
  version integer not null default 1,
  parent_memory_id text collate "C",
  root_memory_id text collate "C",
  forget_after timestamptz,
  forget_reason text,
  forget_batch_id text,
  content_hash text not null,
  terms text[] collate "C" not null,
  term_counts smallint[] not null,
  term_total integer not null,
  embedding vector,
  embedding_model text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index memories_by_container on memories (container_tag, created_at) where is_latest and not is_forgotten;
create index memories_by_root on memories (root_memory_id) where root_memory_id is not null;
create index memories_by_term on memories using gin (terms);
alter table memories set (toast_tuple_target = 4080);
alter table memories alter column embedding set storage main;
alter table memories alter column terms set storage main;

create table memory_sources (
  memory_id text collate "C" not null references memories on delete cascade,
  document_id text collate "C" not null references documents on delete cascade,
  -- Where in the document it stands: {"chunkId", "start", "end"}.
  span jsonb,
  created_at timestamptz not null,
  primary key (memory_id, document_id)
);
create index memory_sources_by_document on memory_sources (document_id);

create table memory_relations (
  from_id text collate "C" not null references memories on delete cascade,
  to_id text collate "C" not null references memories on delete cascade,
  relation text not null check (relation in ('updates', 'extends', 'derives')),
  created_at timestamptz not null,
  primary key (from_id, to_id)
);
create index memory_relations_by_target on memory_relations (to_id);

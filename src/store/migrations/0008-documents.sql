-- What a caller sent as containerTags where that is allowed; null: the one container.
alter table documents add column container_tags text[];

-- The turns of a conversation as they were sent; null for everything else.
alter table document_contents add column messages jsonb;

-- Moves of everything in some containers into another one. Writes to either are refused while one is open.
create table container_merges (
  id text collate "C" primary key,
  source_tags text[] not null,
  target_tag text collate "C" not null,
  status text not null
    check (status in ('queued', 'waiting_for_ingest', 'copying_vectors', 'db_committing', 'cleanup_pending', 'completed', 'failed')),
  progress jsonb,
  last_error text,
  attempts integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz
);
create index container_merges_open on container_merges (id) where finished_at is null;

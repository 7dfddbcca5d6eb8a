-- Orders to erase content: rows are gone before the answer, files are rewritten after it, whatever happens to the process.
create table erasures (
  id text collate "C" primary key,
  -- {"documentIds": […]}, {"containerTag": "…"} or {"deleted": true}
  target jsonb not null,
  -- False: the operator rewrites the files.
  rewrite boolean not null,
  status text not null check (status in ('removing', 'rewriting', 'completed')),
  documents integer not null default 0,
  memories integer not null default 0,
  -- Why the last attempt to rewrite files came to no end.
  problem text,
  -- Tables whose files this role may not rewrite.
  not_rewritten text[] not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz
);
create index erasures_open on erasures (id) where finished_at is null;

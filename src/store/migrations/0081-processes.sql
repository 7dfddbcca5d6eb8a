-- Processes that run on this database. One that was not seen for a while has ended without saying so.
create table processes (
  id text collate "C" primary key,
  role text not null check (role in ('all', 'api', 'worker', 'scheduler')),
  version text not null,
  host text not null,
  pid integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);

-- Who is signed in to the console, by the hash of what the cookie holds. Without a key: whoever has the local token.
create table console_sessions (
  hash text collate "C" primary key,
  key_id text collate "C" references api_keys (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index console_sessions_by_key on console_sessions (key_id);

-- Links that sign in once.
create table console_links (
  hash text collate "C" primary key,
  key_id text collate "C" references api_keys (id) on delete cascade,
  expires_at timestamptz not null
);
create index console_links_by_key on console_links (key_id);

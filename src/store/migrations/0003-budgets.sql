-- What requests to a source cost, shared by all processes.
create table budgets (
  -- `connection:<id>` or `application:<provider>:<app>`.
  scope text collate "C" not null,
  -- Which requests it counts: the glob and the length of its window.
  class text collate "C" not null,
  -- Tokens that count still, a block, what the source said is left, how far it is throttled.
  state jsonb not null,
  updated_at timestamptz not null,
  primary key (scope, class)
) with (fillfactor = 50);

-- Answers that a source is asked again about with their validators (RFC 9110 section 13).
create table http_answers (
  connection_id text collate "C" not null references connections on delete cascade,
  -- SHA-256 (base64) of method, address and headers; the address itself may hold secrets.
  key text collate "C" not null,
  etag text,
  last_modified text,
  headers jsonb not null,
  body bytea not null,
  used_at timestamptz not null,
  primary key (connection_id, key)
);

-- The first answer to each request with an Idempotency-Key, for as long as it may be repeated.
create table kept_answers (
  -- A hash of the API key, the place and the Idempotency-Key.
  name text primary key,
  body_hash text,
  -- The request that is worked on; another one may begin anew when its time is over.
  holder text not null,
  held_until timestamptz not null,
  -- Null while the request is worked on.
  status integer,
  content_type text,
  body text,
  expires_at timestamptz not null
);
create index kept_answers_expired on kept_answers (expires_at);

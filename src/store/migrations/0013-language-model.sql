-- What a language model answered about a document, so that nothing is paid for twice.
create table language_model_answers (
  -- Hash of everything that the answer depends on.
  key text collate "C" primary key,
  -- The answer goes with its document.
  document_id text collate "C" not null references documents on delete cascade,
  answer jsonb not null,
  used_at timestamptz not null
);
create index language_model_answers_by_document on language_model_answers (document_id);
create index language_model_answers_by_use on language_model_answers (used_at);

-- What was spent, by container; '' is what belongs to none.
create table language_model_usage (
  container_tag text collate "C" primary key,
  -- The day (UTC) that day_tokens are of, reserved ones included.
  day date not null,
  day_tokens bigint not null,
  tokens bigint not null default 0,
  answers bigint not null default 0,
  cached bigint not null default 0,
  -- Questions without an answer, by what was wrong.
  failed bigint not null default 0,
  malformed bigint not null default 0,
  over_budget bigint not null default 0,
  answered_at timestamptz,
  failed_at timestamptz,
  over_budget_at timestamptz
);

-- Documents that are searchable and have no title and summary of the language model yet.
create table documents_to_summarize (
  document_id text collate "C" primary key references documents on delete cascade,
  attempts integer not null default 0,
  due_at timestamptz not null
);
create index documents_to_summarize_by_time on documents_to_summarize (due_at, document_id);

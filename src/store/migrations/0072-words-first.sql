-- Documents are found by their words before their vectors are made. The revision whose words are written; that of an
-- older one, and null, mean nothing.
alter table documents add column words_revision integer;

drop index documents_work;
create index documents_work on documents (next_attempt_at, id)
  where status not in ('done', 'failed', 'unknown') and deleted_at is null and words_revision is distinct from revision;
-- In the order in which their vectors are made: long ones last, otherwise the newest first.
create index documents_without_vectors on documents ((cardinality(chunk_starts) > 16), next_attempt_at desc, id)
  where status not in ('done', 'failed', 'unknown') and deleted_at is null and words_revision = revision;

-- Equal texts have equal vectors, which are made once.
create index chunks_by_content on chunks (content_hash);

-- In which languages the containers have texts, by ISO 639-1 code: the words of a search are stemmed in these. Without a
-- key, since transactions that note the same one would wait for each other.
create table text_languages (
  container_tag text collate "C" not null,
  language text collate "C" not null
);
create index text_languages_by_language on text_languages (language, container_tag);

-- Of texts that are there: by words that are common in one of the languages, as they stand among the terms.
with telling (language, words) as (values
  ('da', array['hvad', 'noget', 'havd', 'været']), ('de', array['und', 'nicht', 'auch', 'auf']),
  ('es', array['los', 'ahora', 'pero', 'también']), ('fi', array['oli', 'ovat', 'että', 'ollut']),
  ('fr', array['dans', 'une', 'avec', 'pour']), ('hu', array['hogi', 'ahol', 'alatt', 'akkor']),
  ('it', array['della', 'degli', 'nella', 'dell']), ('nl', array['het', 'een', 'niet', 'zijn']),
  ('no', array['noen', 'noe', 'etter', 'hva']), ('pt', array['uma', 'não', 'também', 'muito']),
  ('ro', array['acest', 'acesta', 'este', 'pentru']), ('ru', array['не', 'что', 'он', 'на']),
  ('sv', array['och', 'att', 'inte', 'är']), ('tr', array['bir', 'ancak', 'belki', 'için']))
insert into text_languages (container_tag, language)
select t.container_tag, l.language from telling l join chunks t on t.terms && l.words
union
select t.container_tag, l.language from telling l join memories t on t.terms && l.words;

-- What a caller says about one document, to guide what is taken from it; null: what is said of its container holds.
alter table documents add column supporting_context text;

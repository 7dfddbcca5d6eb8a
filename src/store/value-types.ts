import pg from 'pg';

type TypeId = Parameters<typeof pg.types.getTypeParser>[0];
type Parser = (text: string) => unknown;

/** Fixed type oids (pg_type.dat) whose values come back otherwise than node-postgres gives them. */
const parsers = new Map<number, Parser>([
  [20, Number], // int8, also count(*)
  [1700, Number], // numeric, also sum() of int8
  [1016, numbers], // int8[]
  [1231, numbers], // numeric[]
]);

const textArray = pg.types.getTypeParser(1009 as TypeId, 'text') as (text: string) => Nested<string>[];

type Nested<T> = T | null | Nested<T>[];

function numbers(text: string): Nested<number>[] {
  return textArray(text).map(toNumbers);
}

function toNumbers(value: Nested<string>): Nested<number> {
  if (Array.isArray(value)) return value.map(toNumbers);
  return value === null ? null : Number(value);
}

/** How values are read, on both engines; see database.ts. Types of extensions, such as `vector`, stay text. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: TypeId, format?: 'text' | 'binary'): Parser =>
    (format === 'binary' ? undefined : parsers.get(oid)) ?? pg.types.getTypeParser(oid, format),
};

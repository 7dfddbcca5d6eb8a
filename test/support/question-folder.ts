import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePdf } from '../../fixtures/make-documents.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface Question {
  question: string;
  /** Where the answer stands. */
  path: string;
}

interface Paper {
  title: string;
  pages: string[][];
}

const fixtures = join(import.meta.dirname, '../../fixtures');
const questions = join(fixtures, 'questions');

/** A folder as people have them: notes, mails, PDF files, code, tables. All facts in it are made up. */
export async function makeQuestionFolder(): Promise<string> {
  const folder = await temporaryFolder('memoryd-questions-');
  await cp(join(fixtures, 'documents'), folder, { recursive: true });
  await cp(join(questions, 'files'), folder, { recursive: true });
  await mkdir(join(folder, 'papers'));
  const papers = await readJson<Record<string, Paper>>('papers.json');
  for (const [name, { title, pages }] of Object.entries(papers)) {
    await writeFile(join(folder, 'papers', name), makePdf(title, pages));
  }
  return folder;
}

export function readQuestions(): Promise<Question[]> {
  return readJson('questions.json');
}

async function readJson<Content>(name: string): Promise<Content> {
  return JSON.parse(await readFile(join(questions, name), 'utf8')) as Content;
}

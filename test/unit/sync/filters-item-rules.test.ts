import { describe, expect, it } from 'vitest';
import { createItemRules, type RuledRef } from '../../../src/sync/filters.ts';

const item: RuledRef = {
  title: 'Harbour plan 2026',
  path: 'Projects/Harbour/plan.final.PDF',
  url: 'https://drive.example.com/files/42',
  mimeType: 'application/pdf; version=1',
  metadata: { database: 'Roadmap', pageType: 'spec' },
};

describe('rules for items', () => {
  it.each([
    [['harbour'], true],
    [['PLAN'], true],
    [['harbo'], false],
    [['plan 2026'], true],
    [['c++', 'final'], true],
    [{ patterns: ['*.pdf'] }, true],
    [{ patterns: ['projects/*/plan*'] }, true],
    [{ patterns: ['plan.final.pdf'] }, true],
    [{ patterns: ['plan'] }, false],
    [{ patterns: ['Harbour plan*'] }, true],
    [{ patterns: ['pro*pro*'] }, false],
    [{ folders: ['/Projects/'] }, true],
    [{ folders: ['projects/harbour'] }, true],
    [{ folders: ['Harbour'] }, false],
    [{ folders: ['*/harbour'] }, true],
    [{ folderNames: ['harbour'] }, true],
    [{ folderNames: ['plan.final.pdf'] }, false],
    [{ fileTypes: ['pdf'] }, true],
    [{ fileTypes: ['.pdf'] }, true],
    [{ fileTypes: ['*.docx', 'application/*'] }, true],
    [{ fileTypes: ['final'] }, false],
    [{ titlePatterns: ['*plan*'] }, true],
    [{ titlePatterns: ['*.pdf'] }, false],
    [{ urlPatterns: ['https://drive.example.com/*'] }, true],
    [{ urlPatterns: ['http://*'] }, false],
    [{ databases: ['roadmap'] }, true],
    [{ databases: ['other'], pageTypes: ['sp*c'] }, true],
    [{ pageTypes: ['s*p*c*s'] }, false],
    [{ patterns: ['(plan', '[a', 'a+'] }, false],
  ])('%j is matched: %s', (setting, isMatched) => {
    expect(createItemRules(setting, null)!.admits(item)).toBe(isMatched);
    expect(createItemRules(null, setting)!.admits(item)).toBe(!isMatched);
  });

  it('exclude before they include', () => {
    expect(createItemRules(['harbour'], { fileTypes: ['pdf'] })!.admits(item)).toBe(false);
    expect(createItemRules(['harbour'], { fileTypes: ['txt'] })!.admits(item)).toBe(true);
  });

  it.each([
    [null, null],
    [[], {}],
    [[' '], { patterns: [] }],
    [undefined, { unknown: ['x'] }],
  ])('are none when %j and %j say nothing', (included, excluded) => {
    expect(createItemRules(included, excluded)).toBeNull();
  });

  it('leave out what an item says nothing about only where something is wanted', () => {
    expect(createItemRules({ titlePatterns: ['*'] }, null)!.admits({})).toBe(false);
    expect(createItemRules(null, { titlePatterns: ['*'] })!.admits({})).toBe(true);
  });
});

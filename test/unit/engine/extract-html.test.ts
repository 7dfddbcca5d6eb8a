import { describe, expect, it } from 'vitest';
import { htmlText } from '../../../src/engine/extract/html.ts';

const text = async (html: string, options = {}) => (await htmlText(html, options)).text;

describe('HTML fragments', () => {
  it('become Markdown without escapes', async () => {
    const html =
      '<h2>Set <code>snake_case_name</code></h2><p>Use [brackets] &amp; *stars*<br>here.</p><ul><li>one<ul><li>two</li></ul></li></ul>';
    expect(await text(html)).toBe('## Set `snake_case_name`\n\nUse [brackets] & *stars*\nhere.\n\n- one\n  - two');
  });

  it('number their lists', async () => {
    expect(await text('<ol start="3"><li>three</li><li><p>four</p><p>more</p></li></ol>')).toBe(
      '3. three\n4. four\n\n   more',
    );
  });

  it('fence code with its language, longer than fences in it', async () => {
    const html =
      '<div class="highlight-source-ts"><pre>const a = 1;\n\n\n```</pre></div><pre><code class="language-sh">ls</code></pre>';
    expect(await text(html)).toContain('````ts\nconst a = 1;');
    expect(await text(html)).toContain('```sh\nls\n```');
  });

  it('hide what readers do not see', async () => {
    const html =
      '<p>seen</p><p hidden>a</p><p style="color:red; display: none">b</p><script>c</script><noscript>d</noscript><svg><text>e</text></svg>';
    expect(await text(html)).toBe('seen');
  });

  it('keep addresses that lead to another site', async () => {
    const html = `<a href="https://a.example/x">there</a> <a href="/y">here</a> <a href="#z">below</a>
      <a href="mailto:a@b.example">a@b.example</a> <a href="https://a.example/?${'q'.repeat(300)}">long</a> <a href="javascript:x()">run</a>`;
    expect(await text(html)).toBe('[there](https://a.example/x) here below a@b.example long run');
    expect(await text(html, { url: 'https://a.example/page' })).toBe('there here below a@b.example long run');
  });

  it('show images by their descriptions', async () => {
    expect(await text('<p>See <img src="data:image/png;base64,AAAA" alt="the  mast"> and <img src="x.png"></p>')).toBe(
      'See the mast and',
    );
  });

  it('drop invisible hyphens and spaces', async () => {
    expect(await text('<p>Donau\u00addampf\u200bschiff</p>')).toBe('Donaudampfschiff');
  });
});

describe('HTML tables', () => {
  it('get their first row as the header', async () => {
    const html =
      '<table><caption>Prices</caption><tr><td>A|B</td><td><ul><li>x</li><li>y</li></ul></td></tr><tr><td></td></tr><tr><td>1<p>2</p></td><td>3</td></tr></table>';
    expect(await text(html)).toBe('Prices\n\n| A\\|B | x, y |\n| --- | --- |\n| 1 2 | 3 |');
  });

  it('that only place things are dissolved', async () => {
    const html =
      '<table><tr><td><table><tr><td><p>Hello</p></td></tr></table></td></tr><tr><td>World</td></tr></table>';
    expect(await text(html)).toBe('Hello\n\nWorld');
    expect(
      await text('<table role="presentation"><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>'),
    ).not.toContain('|');
  });

  it('and lists of thousands of rows are read in linear time', async () => {
    const before = process.cpuUsage();
    const rows = await text(`<table>${'<tr><td>a</td><td>b</td></tr>'.repeat(4000)}</table>`);
    const items = await text(`<ol>${'<li>a</li>'.repeat(8000)}</ol>`);
    expect(rows.split('\n')).toHaveLength(4001);
    expect(items.endsWith('8000. a')).toBe(true);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(8000);
  }, 60_000);
});

const story = 'The wind sensor at Kirkwall froze in February, and nobody noticed it for two days, which is too long. ';
const page = (body: string, head = '') =>
  `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`;

describe('HTML pages', () => {
  it('are reduced to their article, under its title', async () => {
    const html = page(
      `<nav>Menu</nav><div class="sidebar"><a href="/a">Related</a></div><article><h1>Frozen</h1><p>${story.repeat(5)}</p><p>${story.repeat(5)}</p></article><footer>Imprint</footer>`,
      '<title>Frozen - Fernhill Weather</title>',
    );
    const extracted = await htmlText(html, { page: true });
    expect(extracted.title).toBe('Frozen');
    expect(extracted.text).toBe(`# Frozen\n\n${story.repeat(5).trim()}\n\n${story.repeat(5).trim()}`);
    expect(extracted.metadata).toEqual({ language: 'en' });
  });

  it('are taken whole when there is no article', async () => {
    const html = page(
      '<nav>Menu</nav><ul><li>Tea</li><li>Cake</li></ul><aside>Advertisement</aside>',
      '<title>Today</title>',
    );
    expect(await text(html, { page: true })).toBe('# Today\n\n- Tea\n- Cake');
  });

  it('need no body element', async () => {
    const html = '<!doctype html><html lang=de><title>Kurz</title><p>eins<p>zwei';
    expect(await htmlText(html, { page: true })).toMatchObject({
      title: 'Kurz',
      text: '# Kurz\n\neins\n\nzwei',
      metadata: { language: 'de' },
    });
  });

  it('that are nested too deeply give their bare text', async () => {
    const html = page(`${'<div>'.repeat(50_000)}deep &amp; &#x;&#228; &nbsp;down<script>x</script>`);
    expect(await htmlText(html, { page: true })).toEqual({
      text: 'deep & &#x;ä  down',
      title: null,
      degraded: ['The page is nested too deeply; only its bare text was taken.'],
    });
  });
});

import { defineConfig } from 'vite';

/** Where `npx vite console` finds the daemon while the page is worked on. */
const daemon = 'http://127.0.0.1:6767';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // The page is the same whatever NODE_ENV says: that of tests brought names of files and lines into it.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: 'dist',
    assetsDir: 'console/assets',
    emptyOutDir: true,
    // The content security policy allows neither data: scripts nor inline ones.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    sourcemap: false,
    // What the licences of the parts ask for goes where the parts go.
    license: { fileName: 'console/licenses.md' },
  },
  server: {
    proxy: {
      '^/(v3|v4|ns|console/sessions?|console/links|openapi.json|health|mcp)': { target: daemon, changeOrigin: true },
    },
  },
});

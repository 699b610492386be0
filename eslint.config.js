import js from '@eslint/js';
import { builtinModules } from 'node:module';
import imports from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/**
 * The rooms of `src`, from the ground up: a room imports only rooms that stand before it in this list.
 * `CONTRIBUTING.md` says what lives in each.
 */
const rooms = [
  'validation',
  'numerics',
  'async',
  'formats',
  'processes',
  'store',
  'coevolution',
  'benchmarks',
  'worlds',
  'config',
  'types',
  'inference',
  'evaluation',
  'runs',
  'runtime',
  'epochs',
  'training',
  'rollouts',
  'curriculum',
  'scoring',
  'report',
  'tracking',
  'comparison',
  'activities',
  'workflows',
  'temporal',
  'telemetry',
  'worker',
  'dev-stack',
  'dashboard',
  'cli',
];

const zones = rooms.slice(0, -1).map((room, index) => ({
  target: `./src/${room}`,
  from: rooms.slice(index + 1).map((higher) => `./src/${higher}`),
  message: 'A room imports only rooms that stand before it in eslint.config.js.',
}));

/** Words that say nothing as a name: the field has a noun for what is meant. */
const vagueNames =
  'does here one other others of so some found given asked known fresh whole going told beside'.split(' ');

export default tseslint.config(
  { ignores: ['node_modules/', '.genenv/', 'coverage/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': imports },
    rules: {
      eqeqeq: 'error',
      'object-shorthand': 'error',
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { zones }],
      'id-denylist': ['error', ...vagueNames],
      'no-nested-ternary': 'error',
      'max-params': ['error', 4],
      'max-len': [
        'error',
        {
          code: 120,
          ignoreUrls: true,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
        },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // An index that the code itself has made is known to be there: `!` says so; a check that cannot fail
      // would say less.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Texts of worlds are ASCII by their own parsers.
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
    },
  },
  {
    // Workflow code is replayed: no Node, no I/O, no schema library in its bundle.
    files: ['src/workflows/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [...builtinModules, 'zod', 'openai'].map((name) => ({
            name,
            message: 'Not in workflow code: it is replayed, and bundled into every cached workflow.',
          })),
          patterns: [
            { group: ['node:*'], message: 'No Node built-ins in workflow code.' },
            {
              group: ['**/activities/**', '**/config/**', '**/types/**', '**/validation/**', '**/store/**'],
              allowTypeImports: true,
              message: 'Types only.',
            },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'fetch', 'setInterval'],
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        fetch: 'readonly',
        Buffer: 'readonly',
      },
    },
  },
);

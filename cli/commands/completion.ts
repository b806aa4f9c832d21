/** `keyhold completion`: scripts with which shells complete commands and options. */
import { Argument, type Command } from 'commander'
import { methods, pathsWith } from '../api/routes.ts'
import type { CallerPorts } from '../context/ports.ts'

/** What may follow after some words. */
interface Entry {
  /** The words after `keyhold`; none for the first one. */
  readonly path: string
  readonly words: readonly string[]
}

const shells = ['bash', 'zsh', 'fish'] as const

/** Adds the command to the program. `whole` makes the program with all of its groups. */
export function addCompletion(program: Command, ports: CallerPorts, whole: () => Promise<Command>): void {
  program
    .command('completion')
    .description('print a script with which a shell completes commands and options')
    .addArgument(new Argument('<shell>').choices([...shells]))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(keyhold completion bash)\n  source <(keyhold completion zsh)\n' +
        '  keyhold completion fish > ~/.config/fish/completions/keyhold.fish',
    )
    .action(
      ports.report(async (shell: (typeof shells)[number]) => {
        const text = scripts[shell](entriesOf(await whole()))
        return { json: text, text }
      }),
    )
}

/** All commands, the inner ones first: a shell takes the first that fits. Behind a method of `api` are its paths. */
function entriesOf(command: Command, path: readonly string[] = []): Entry[] {
  const names = [...command.commands.map((inner) => inner.name()), ...(path.length === 0 ? ['ops'] : [])]
  const options = command.options.map(({ long }) => long).filter((long) => long !== undefined)
  const inner = command.commands.flatMap((other) => entriesOf(other, [...path, other.name()]))
  const choices = command.registeredArguments[0]?.argChoices ?? []
  const paths = methods.map((method) => ({ path: `api ${method}`, words: [...pathsWith(method), ...options] }))
  const own = { path: path.join(' '), words: [...names, ...choices, ...options, '--help'] }
  return [...inner, ...(command.name() === 'api' ? paths : []), own]
}

const cases = (entries: readonly Entry[], line: (words: string) => string): string =>
  entries
    .map(({ path, words }) => `    ${path === '' ? '*' : `"${path}"|"${path} "*`}) ${line(words.join(' '))} ;;`)
    .join('\n')

/** The words before the cursor that are no options, with one blank between. */
const pathLoop = (words: string) =>
  `  for word in ${words}; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done`

const scripts: Readonly<Record<(typeof shells)[number], (entries: readonly Entry[]) => string>> = {
  bash: (entries) => `# Completion of keyhold for bash
_keyhold() {
  local path="" word words=""
${pathLoop(`"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$path" in
${cases(entries, (words) => `words="${words}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _keyhold keyhold`,
  zsh: (entries) => `#compdef keyhold
# Completion of keyhold for zsh
_keyhold() {
  local path_words="" word
${pathLoop(`"\${(@)words[2,CURRENT-1]}"`).replaceAll('path', 'path_words')}
  case "$path_words" in
${cases(entries, (words) => `compadd -- ${words}`)}
  esac
}
compdef _keyhold keyhold`,
  fish: (entries) => `# Completion of keyhold for fish
function __keyhold_words
  set -l path (string join ' ' -- (string match -v -- '-*' (commandline -opc)[2..]))
  switch "$path"
${entries
  .map(({ path, words }) => {
    const pattern = path === '' ? `'*'` : `'${path}' '${path} *'`
    return `    case ${pattern}\n      printf '%s\\n' ${words.map((word) => `'${word}'`).join(' ')}`
  })
  .join('\n')}
  end
end
complete -c keyhold -f -a '(__keyhold_words)'`,
}

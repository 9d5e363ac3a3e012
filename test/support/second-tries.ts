import type {Reporter, TestCase} from 'vitest/node'

/** Names every test that passed only at its second try, so that none is taken for a sound one. */
export default class SecondTries implements Reporter {
  readonly #names: string[] = []

  onTestCaseResult(test: TestCase): void {
    if ((test.diagnostic()?.retryCount ?? 0) > 0 && test.result().state === 'passed')
      this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`)
  }

  onTestRunEnd(): void {
    for (const name of this.#names) console.log(`passed at the second try: ${name}`)
  }
}

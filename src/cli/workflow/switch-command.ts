import type {Plan} from '../../model/plan.ts'
import {SrcipCommand, type FinishFlags} from '../command.ts'
import type {KubeFlagValues} from '../flags.ts'
import type {RunFlagValues, SwitchFlagValues} from './flags.ts'
import type {RunContext} from './session.ts'

/** Base of the commands that carry out plans. */
export abstract class SwitchCommand extends SrcipCommand {
  protected async switch(
    operation: 'enable' | 'disable',
    flags: SwitchFlagValues & KubeFlagValues & FinishFlags,
  ): Promise<void> {
    const {runSwitch} = await import('./run-switch.ts')
    const outcome = await runSwitch(operation, flags, await this.#context(flags))
    if ('plan' in outcome) {
      const {planView} = await import('../../present/workflow/plan.ts')
      return await this.finish(outcome.plan, planView, flags)
    }
    const {runResultView} = await import('../../present/workflow/run.ts')
    await this.finish(outcome.result, runResultView, flags)
  }

  protected async continue(
    direction: 'forward' | 'back',
    id: string,
    flags: RunFlagValues & KubeFlagValues & FinishFlags,
  ): Promise<void> {
    const [{continueRun}, {runResultView}] = await Promise.all([
      import('./resume.ts'),
      import('../../present/workflow/run.ts'),
    ])
    await this.finish(await continueRun(direction, id, flags, await this.#context(flags)), runResultView, flags)
  }

  async #context(flags: KubeFlagValues): Promise<RunContext> {
    const {planView} = await import('../../present/workflow/plan.ts')
    return {
      client: await this.cluster(flags),
      signal: this.interruption.signal,
      onEvent: await this.events(),
      say: (line) => this.say(line),
      argv: [this.id ?? '', ...this.argv],
      toolVersion: this.config.version,
      show: (plan: Plan) =>
        this.say(planView.table(plan, {wide: false, headers: true, color: false, columns: undefined})),
    }
  }
}

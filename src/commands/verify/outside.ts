import {SrcipCommand} from '../../cli/command.ts'
import {outsideFlags} from '../../cli/verify/flags.ts'

export default class VerifyOutside extends SrcipCommand {
  static override summary = 'Prove from here that the backend sees the client address, and that nobody can forge it'
  static override description =
    'Asks every address of the name (and, with --each-node, of every node) by fresh connections. The echo tells the address it saw: kubectl srcip whoami, or any echo that gives it as JSON, as lines or as bare text. Then it tries to lie: X-Forwarded-For, X-Real-IP, Forwarded and a PROXY header must not be believed, and ports of --must-refuse must not answer. Exit code 0 all held, 22 something did not, 21 something could not be told, 30 nothing answered.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --url https://shop.example.org/ --echo https://echo.example.org/ --from-address 203.0.113.9',
    '<%= config.bin %> <%= command.id %> --url https://echo.example.org/ --from-address 203.0.113.9 --each-node --must-refuse 192.0.2.11:30443',
  ]
  static override flags = outsideFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(VerifyOutside)
    const [{proveOutside}, {verifyView}] = await Promise.all([
      import('../../cli/verify/outside.ts'),
      import('../../present/verify.ts'),
    ])
    const report = await proveOutside(flags, () => this.cluster(flags), this.interruption.signal)
    await this.finish(report, verifyView, flags)
  }
}

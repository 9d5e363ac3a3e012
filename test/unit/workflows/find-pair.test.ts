import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'
import {readSnapshotFiles} from '../../../src/kube/index.ts'
import {SrcipError} from '../../../src/model/errors.ts'
import {indexSnapshot} from '../../../src/model/snapshot.ts'
import {findPair} from '../../../src/workflows/generic/pair-facts.ts'

const objects = fileURLToPath(new URL('../../cases/B38-proxy-before-its-target-is-ready/objects.yaml', import.meta.url))

test('B38: an ingress Service that does not exist is refused, and the one that was meant is named', async () => {
  const index = indexSnapshot(await readSnapshotFiles([objects]))
  let refusal: unknown
  try {
    findPair(index, 'enable', 'ingress-nginx/ingress-nginx-controller')
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(SrcipError)
  expect(refusal).toMatchObject({
    exitCode: 32,
    message: 'there is no service/ingress-nginx/ingress-nginx-controller',
    hints: ['did you mean edge/edge-ingress-controller?', 'kubectl get services -A'],
  })
})

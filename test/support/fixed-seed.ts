/** Runs before every test file: properties that name no seed of their own draw from the seed of the run. */
import fc from 'fast-check'
import {propertySeed} from './property-seed.ts'

fc.configureGlobal({...fc.readConfigureGlobal(), seed: propertySeed})

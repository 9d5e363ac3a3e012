/** Everything that reads values, manifests and charts, behind one door that is opened only when there is something to read. */
export {readChartFolder, readPackagedChart, searchChart} from '../images/chart.ts'
export {readPlatformPackage} from '../images/cozystack.ts'
export {readInput, wantedOf} from '../images/input.ts'
export {parseTextValues, valueAt} from '../images/values-text.ts'

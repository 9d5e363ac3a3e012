/** Media types of documents and of the few blobs that this tool looks into. Everything else passes through untouched. */
export const mediaTypes = {
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  helmConfig: 'application/vnd.cncf.helm.config.v1+json',
  helmChart: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
  helmChartOld: 'application/tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
} as const

/** Sent as Accept with every manifest request; without the OCI index type old registries answer 404 for an index. */
export const acceptManifests = [
  mediaTypes.ociIndex,
  mediaTypes.ociManifest,
  mediaTypes.dockerList,
  mediaTypes.dockerManifest,
].join(', ')

export function isIndexType(mediaType: string): boolean {
  return mediaType === mediaTypes.ociIndex || mediaType === mediaTypes.dockerList
}

export function isManifestType(mediaType: string): boolean {
  return mediaType === mediaTypes.ociManifest || mediaType === mediaTypes.dockerManifest
}

/** Docker's first manifest format signs inside the document, so its digest is not the hash of its bytes. */
export function isSchema1(mediaType: string): boolean {
  return /^application\/vnd\.docker\.distribution\.manifest\.v1\+(json|prettyjws)$/.test(mediaType)
}

/** A Content-Type without its parameters, in lower case. */
export function bareType(contentType: string | undefined): string | undefined {
  const bare = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  return bare === '' ? undefined : bare
}

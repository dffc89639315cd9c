/**
 * The settings with which a client of the SDK calls one of the embedded services, whatever the AWS settings of this
 * machine's user are.
 * @param environment of a local service
 * @param endpoint the variable that holds the service's address, such as `AWS_ENDPOINT_URL_DYNAMODB`
 */
export function localClient(environment: Readonly<Record<string, string>>, endpoint: string) {
  const { AWS_REGION: region = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = environment;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  return { endpoint: environment[endpoint] ?? '', region, credentials, ...LOCAL_CALLS };
}

/** Settings of a user that would end a call of an embedded service, or its client. */
const LOCAL_CALLS = {
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
  accountIdEndpointMode: 'disabled',
  defaultsMode: 'standard',
  retryMode: 'standard',
} as const;

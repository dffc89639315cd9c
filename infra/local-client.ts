/**
 * The settings with which a client of the SDK calls one of the embedded services, whatever the AWS settings of the user
 * are: with FIPS or dual-stack endpoints the SDK would refuse an address on this machine.
 * @param environment of a local service
 * @param endpoint the variable that holds the service's address, such as `AWS_ENDPOINT_URL_DYNAMODB`
 */
export function localClient(environment: Readonly<Record<string, string>>, endpoint: string) {
  const { AWS_REGION: region = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = environment;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const endpoints = { useFipsEndpoint: false, useDualstackEndpoint: false };
  return { endpoint: environment[endpoint] ?? '', region, credentials, ...endpoints };
}

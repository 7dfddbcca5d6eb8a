import { readScope, requireWrite } from '../../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../../context.ts';
import { bucketsAnswer, deleteBucketsBody, putBucketsBody } from '../schemas/profile.ts';
import { namespaceParams } from '../schemas/shared.ts';

const path = '/ns/:namespace/profile/buckets';
const described = { tags: ['Namespaces'], params: namespaceParams, response: { 200: bucketsAnswer } };

export function namespaceBucketRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    path,
    {
      schema: {
        operationId: 'getNamespaceBuckets',
        summary: 'List the buckets of a namespace’s profile',
        ...described,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      readScope(callerOf(request), [namespace]);
      return bucketsOf(namespace);
    },
  );

  app.put(
    path,
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'putNamespaceBuckets',
        summary: 'Add buckets to a namespace’s profile, or change them',
        description: 'The others stay. Those of the organization cannot be changed here.',
        ...described,
        body: putBucketsBody,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const put = Object.entries(request.body.buckets).map(([key, description]) => ({ key, description }));
      await services.containerTags.changeBuckets(namespace, { put });
      return bucketsOf(namespace);
    },
  );

  app.delete(
    path,
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'deleteNamespaceBuckets',
        summary: 'Take buckets from a namespace’s profile',
        ...described,
        body: deleteBucketsBody,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      await services.containerTags.changeBuckets(namespace, { remove: request.body.buckets });
      return bucketsOf(namespace);
    },
  );

  async function bucketsOf(namespace: string) {
    const buckets = await services.profiles.buckets(namespace);
    return { buckets: Object.fromEntries(buckets.map(({ key, description }) => [key, description])) };
  }
}

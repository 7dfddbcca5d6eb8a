# Written for BuildKit; the machine that the project is developed on has no container engine, so this
# file has not been built there. What it runs is the package that the tests install and start.

FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY scripts/prepare.mjs scripts/
RUN npm ci
COPY . .
RUN npm run build && npm pack ./dist --pack-destination /package

FROM node:24-slim
ENV NODE_ENV=production MEMORYD_DATA_DIR=/data MEMORYD_HOST=0.0.0.0
COPY --from=build /package /package
# The model is opened once, so that its library is unpacked where no user may write later.
RUN npm install --global /package/*.tgz && rm -r /package \
  && memoryd models verify \
  && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 6767
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:6767/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# memoryd closes what it has open on SIGTERM, which is what the container gets.
ENTRYPOINT ["memoryd"]
CMD ["start"]

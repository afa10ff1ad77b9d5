# docker build -t causey . in a clone: the first stage packs the package, the second one installs it.
FROM node:24-slim AS package
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /src

FROM node:24-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends chromium fonts-noto-core fonts-noto-cjk \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=package /src/causey-*.tgz ./
RUN npm init -y && npm install --no-audit --no-fund ./causey-*.tgz hono@4
RUN mkdir -p /data && chown node /data
USER node
VOLUME /data
EXPOSE 8787
HEALTHCHECK CMD ["node", "-e", "fetch('http://127.0.0.1:8787/healthz').then((answer) => process.exit(answer.ok ? 0 : 1))"]
CMD ["node_modules/.bin/causey", "serve", "--host", "0.0.0.0", "--data-dir", "/data"]

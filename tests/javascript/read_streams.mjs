// Reads streams with the official SDKs. Standard input: a JSON array of {format, body}, the body in base64. Standard output: for each of
// them an object from the way of reading to the message of the error that the SDK raised, or null where it raised none.
import http from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';

const AT_ONCE = 24;
const TURN = [{ role: 'user', content: 'a' }];

const drain = async (stream) => {
  for await (const event of await stream) void event;
};

const openai = (baseURL) => new OpenAI({ apiKey: 'k', baseURL, maxRetries: 0 });
const anthropic = (baseURL) => new Anthropic({ apiKey: 'k', baseURL, maxRetries: 0 });
const genai = (baseUrl) => new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl } });

const WAYS = {
  chat_completions: {
    create: (url) => drain(openai(url).chat.completions.create({ model: 'm', messages: TURN, stream: true })),
    stream: (url) => openai(url).chat.completions.stream({ model: 'm', messages: TURN }).finalChatCompletion(),
  },
  messages: {
    create: (url) => drain(anthropic(url).messages.create({ model: 'm', max_tokens: 1, messages: TURN, stream: true })),
    stream: (url) => anthropic(url).messages.stream({ model: 'm', max_tokens: 1, messages: TURN }).finalMessage(),
  },
  responses: {
    create: (url) => drain(openai(url).responses.create({ model: 'm', input: 'a', stream: true })),
    stream: (url) => openai(url).responses.stream({ model: 'm', input: 'a' }).finalResponse(),
  },
  generate_content: {
    generateContentStream: (url) => drain(genai(url).models.generateContentStream({ model: 'm', contents: 'a' })),
    sendMessageStream: (url) => drain(genai(url).chats.create({ model: 'm' }).sendMessageStream({ message: 'a' })),
  },
};

const read = async ({ format }, url) => {
  const outcome = {};
  for (const [way, ask] of Object.entries(WAYS[format])) {
    try {
      await ask(url);
      outcome[way] = null;
    } catch (error) {
      outcome[way] = `${error.constructor.name}: ${error.message}`;
    }
  }
  return outcome;
};

const input = [];
for await (const piece of process.stdin) input.push(piece);
const cases = JSON.parse(Buffer.concat(input).toString());

const server = http.createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(Buffer.from(cases[Number(request.url.split('/')[1])].body, 'base64'));
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));

const outcomes = new Array(cases.length);
let next = 0;
const work = async () => {
  while (next < cases.length) {
    const at = next++;
    outcomes[at] = await read(cases[at], `http://127.0.0.1:${server.address().port}/${at}`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
process.stdout.write(JSON.stringify(outcomes), () => process.exit(0));

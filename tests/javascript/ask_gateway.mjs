// Asks a gateway with the official SDKs. Arguments: the base URL and the key. Standard output: an object from the format to the texts of
// the whole and of the streamed answer.
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';

const [baseURL, apiKey] = process.argv.slice(2);
const TURN = [{ role: 'user', content: 'What is the weather in Rome?' }];
const model = 'm-large';

const openai = new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey, baseURL, maxRetries: 0 });
const genai = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseURL } });

const textOf = (message) => message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
const partsOf = (chunk) => (chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => !part.thought).map((part) => part.text ?? '').join('');

const ASK = {
  chat_completions: [
    async () => (await openai.chat.completions.create({ model, messages: TURN })).choices[0].message.content,
    async () => (await openai.chat.completions.stream({ model, messages: TURN }).finalChatCompletion()).choices[0].message.content,
  ],
  messages: [
    async () => textOf(await anthropic.messages.create({ model, max_tokens: 99, messages: TURN })),
    async () => textOf(await anthropic.messages.stream({ model, max_tokens: 99, messages: TURN }).finalMessage()),
  ],
  responses: [
    async () => (await openai.responses.create({ model, input: 'What is the weather in Rome?' })).output_text,
    async () => (await openai.responses.stream({ model, input: 'What is the weather in Rome?' }).finalResponse()).output_text,
  ],
  generate_content: [
    async () => partsOf(await genai.models.generateContent({ model, contents: 'Rome?' })),
    async () => {
      let text = '';
      for await (const chunk of await genai.models.generateContentStream({ model, contents: 'Rome?' })) text += partsOf(chunk);
      return text;
    },
  ],
};

const outcome = {};
for (const [format, questions] of Object.entries(ASK)) {
  outcome[format] = [];
  for (const ask of questions) {
    try {
      outcome[format].push(await ask());
    } catch (error) {
      outcome[format].push(`${error.constructor.name}: ${error.message}`);
    }
  }
}
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));

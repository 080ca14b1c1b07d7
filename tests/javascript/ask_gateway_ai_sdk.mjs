// Asks a gateway with the AI SDK: one text, and one stream in which the model calls a tool and reads its result. Arguments: the base URL
// and the key. Standard output: an object from the format to {text, streamed, calls, results, finish, usage, errors}.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;

const [url, apiKey] = process.argv.slice(2);
const model = 'm-large';
const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
const MODELS = {
  chat_completions: openai.chat(model),
  messages: createAnthropic({ baseURL: `${url}/v1`, apiKey })(model),
  responses: openai.responses(model),
  generate_content: createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(model),
};
const get_weather = tool({
  description: 'Return the weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});

const ask = async (languageModel) => {
  const settings = { model: languageModel, maxRetries: 0, maxOutputTokens: 99 };
  const whole = await generateText({ ...settings, prompt: 'Say something.' });
  const errors = [];
  const stream = streamText({
    ...settings,
    prompt: 'What is the weather in Rome?',
    tools: { get_weather },
    stopWhen: stepCountIs(3),
    onError: ({ error }) => errors.push(`${error.name}: ${error.message}`),
  });
  let streamed = '';
  for await (const piece of stream.textStream) streamed += piece;
  const steps = await stream.steps;
  return {
    text: whole.text,
    streamed,
    calls: steps.flatMap((step) => step.toolCalls.map((call) => [call.toolName, call.input])),
    results: steps.flatMap((step) => step.toolResults.map((result) => result.output)),
    finish: steps.map((step) => step.finishReason),
    usage: [whole.usage.inputTokens, whole.usage.outputTokens],
    errors,
  };
};

const outcome = {};
for (const [format, languageModel] of Object.entries(MODELS)) {
  try {
    outcome[format] = await ask(languageModel);
  } catch (error) {
    outcome[format] = `${error.name}: ${error.message} ${error.responseBody ?? ''}`;
  }
}
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));

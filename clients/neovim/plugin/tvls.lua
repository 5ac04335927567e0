-- Everything else is loaded by the first `:Tvls`, or with the first Python file.
if vim.g.loaded_tvls then
  return
end
vim.g.loaded_tvls = true

vim.api.nvim_create_user_command('Tvls', function(args)
  require('tvls.command').run(args)
end, {
  nargs = '*',
  bang = true,
  desc = 'TensorViz: open models as graphs',
  complete = function(...)
    return require('tvls.command').complete(...)
  end,
})
